//! The checks over whole sites and over changes of them.

mod change;
mod cost;
mod equivalence;
mod folder;
mod links;
mod navigation;
mod repair;
mod speed;
mod tree;
