mod base;
mod grants;
mod layers;
mod names;
mod patterns;
mod properties;
