a10f11
family:    25 (0x19)
model:     17 (0x11)
stepping:   1 (0x01)
