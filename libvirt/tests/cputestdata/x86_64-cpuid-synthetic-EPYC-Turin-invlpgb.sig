b00f21
family:    26 (0x1a)
model:      2 (0x02)
stepping:   1 (0x01)
