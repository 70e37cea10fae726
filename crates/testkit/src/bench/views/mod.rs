mod alias;
mod sample;
