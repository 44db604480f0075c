a00f11
family:    25 (0x19)
model:      1 (0x01)
stepping:   1 (0x01)
