//! The real binary, as a supervisor on the host and as process 1 of a real bwrap.

#[cfg(test)]
mod failures;
#[cfg(test)]
mod init;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod lookup;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod supervisor;
#[cfg(test)]
mod terminal;
