840f70
family:    23 (0x17)
model:     71 (0x47)
stepping:   0 (0x00)
