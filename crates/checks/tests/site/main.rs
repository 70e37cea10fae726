//! The checks over whole sites and over changes of them.

mod change;
mod cost;
mod equivalence;
mod folder;
mod generators;
mod links;
mod navigation;
mod pages;
mod redirects;
mod repair;
mod rules;
mod scripted;
mod speed;
mod tree;
