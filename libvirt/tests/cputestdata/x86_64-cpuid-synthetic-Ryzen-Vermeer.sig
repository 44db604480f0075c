a20f10
family:    25 (0x19)
model:     33 (0x21)
stepping:   0 (0x00)
