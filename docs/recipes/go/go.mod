module example.com/gapless

go 1.21
