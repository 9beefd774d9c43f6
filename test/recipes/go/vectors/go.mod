module example.com/gapless-vectors

go 1.21

require example.com/gapless v0.0.0

replace example.com/gapless => ../../../../docs/recipes/go
