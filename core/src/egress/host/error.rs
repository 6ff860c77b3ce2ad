//! Why a text is no host, or no rule about hosts.

/// Why a text is no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Nothing is there.
    #[error("there is no host")]
    Empty,
    /// It came over the wire, where only A-labels do.
    #[error("it is not ASCII")]
    NotAscii,
    /// `USER@` in front.
    #[error("it holds a user name")]
    Userinfo,
    /// `https://` in front.
    #[error("it holds a scheme")]
    Scheme,
    /// A path, a query or a fragment behind.
    #[error("it holds a path")]
    Path,
    /// `%` outside a zone id.
    #[error("it holds a percent sign")]
    Percent,
    /// Its last label is a number, so a resolver takes it for an address, and it is none.
    #[error("it ends in a number and is no address")]
    Number,
    /// Brackets or colons without an IPv6 address.
    #[error("it is no IPv6 address")]
    Bracketed,
    /// No name of the domain name system.
    #[error("it is no name: {0}")]
    Name(&'static str),
    /// A port that is none.
    #[error("`{0}` is no port: a port is a number from 1 to 65535")]
    Port(String),
    /// No port where one is needed.
    #[error("it has no port")]
    NoPort,
}

/// Why a text is no rule about hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}`: {fault}")]
pub struct PatternError {
    /// As it was written.
    pub pattern: String,
    /// What is wrong with it.
    pub fault: PatternFault,
    /// The next step.
    pub help: String,
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// Its host is none.
    #[error("{0}")]
    Host(#[from] HostError),
    /// `*` alone, which means every host.
    #[error("it means every host")]
    Everything,
    /// A name below which everybody may have names.
    #[error("`{0}` is a public suffix: anybody can have a name below it")]
    PublicSuffix(String),
    /// `*` anywhere but as the whole first label.
    #[error("`*` stands only at the beginning, for whole labels")]
    Star,
    /// `*.` before an address.
    #[error("an address has no names below it")]
    StarAddress,
    /// An address in a form that is not the one shown.
    #[error("it is the address {0} in another form")]
    Form(String),
    /// A network whose address has bits set beyond its prefix.
    #[error("the network is {0}")]
    Network(String),
    /// A prefix that is none, or so short that most of the internet is in it.
    #[error("`/{0}` is no prefix: it is from 8 to 32 for IPv4 and from 7 to 128 for IPv6")]
    Prefix(String),
}
