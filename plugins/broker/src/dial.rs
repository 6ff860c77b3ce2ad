//! From an endpoint to a connection: resolved once, every address vetted, and one of those dialled.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use confine_core::egress::address::{Forbidden, Granted, StaticNames, vet_all};
use confine_core::egress::host::{Endpoint, Host, HostName, HostPattern, HostRules};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long one address may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most addresses of one name that are tried.
const TRIED: usize = 4;

/// Whoever knows the addresses of names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Every address of `name`.
    ///
    /// # Errors
    /// Where there is no answer.
    async fn addresses(&self, name: &HostName) -> io::Result<Vec<IpAddr>>;
}

/// getaddrinfo(3), on a thread of the runtime's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn addresses(&self, name: &HostName) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// A connection, and where it leads.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) stream: TcpStream,
    pub(crate) address: SocketAddr,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The name is not known, or nobody who knows it answered.
    #[error("`{name}` has no address: {source}")]
    Unknown {
        /// The name.
        name: HostName,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// It leads where nothing of ours goes.
    #[error("`{endpoint}` is not reached: {source}")]
    Forbidden {
        /// Where to.
        endpoint: Endpoint,
        /// Which address, and why.
        #[source]
        source: Forbidden,
    },
    /// An address that it leads to is denied by a rule of the user's.
    #[error("`{endpoint}` is not reached: the rule `{rule}` denies its address")]
    Denied {
        /// Where to.
        endpoint: Endpoint,
        /// The rule.
        rule: HostPattern,
    },
    /// Nobody is there.
    #[error("`{endpoint}` cannot be reached: {source}")]
    Unreachable {
        /// Where to.
        endpoint: Endpoint,
        /// The system's error, of the last address.
        #[source]
        source: io::Error,
    },
}

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Dialler {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) names: Arc<StaticNames>,
}

impl Dialler {
    /// `granted` are networks that the user allows; what `rules` deny is reached by no name.
    ///
    /// # Errors
    /// A name without an address, with one that is forbidden, and where nobody answers.
    pub(crate) async fn dial(
        &self,
        endpoint: &Endpoint,
        rules: &HostRules,
        granted: Granted,
    ) -> Result<Dialled, DialError> {
        let (addresses, granted) = self.addresses(&endpoint.host, granted).await?;
        vet_all(&addresses, endpoint.port, &granted)
            .map_err(|source| DialError::Forbidden { endpoint: endpoint.clone(), source })?;
        let denied = addresses.iter().find_map(|address| rules.denial(*address, endpoint.port));
        if let Some(rule) = denied {
            return Err(DialError::Denied { endpoint: endpoint.clone(), rule: rule.clone() });
        }
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses.iter().take(TRIED).map(|address| SocketAddr::new(*address, endpoint.port)) {
            match timeout(PATIENCE, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(dialled(stream, address)),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(DialError::Unreachable { endpoint: endpoint.clone(), source: last })
    }

    /// What a static name stands for is granted to that name alone: another name that resolves to it is not meant.
    async fn addresses(&self, host: &Host, granted: Granted) -> Result<(Vec<IpAddr>, Granted), DialError> {
        let name = match host {
            Host::Address(address) => return Ok((vec![*address], granted)),
            Host::Name(name) => name,
        };
        if let Some(addresses) = self.names.get(name) {
            let addresses: Vec<IpAddr> = addresses.iter().copied().collect();
            return Ok((addresses.clone(), granted.and_addresses(addresses)));
        }
        let unknown = |source| DialError::Unknown { name: name.clone(), source };
        let found = timeout(PATIENCE, self.resolver.addresses(name)).await;
        let found = found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(unknown)?;
        if found.is_empty() {
            return Err(unknown(io::Error::new(io::ErrorKind::NotFound, "the answer is empty")));
        }
        Ok((found, granted))
    }
}

fn dialled(stream: TcpStream, address: SocketAddr) -> Dialled {
    // Small requests wait for nothing; where that cannot be set they are only slower.
    let _ = stream.set_nodelay(true);
    Dialled { stream, address }
}
