mod first;
mod speed;
