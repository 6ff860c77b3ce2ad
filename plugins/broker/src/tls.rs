//! TLS towards servers: whom we trust, and that we speak to the host that was named.

use std::io;
use std::sync::{Arc, OnceLock};

use confine_core::egress::host::Host;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Whose certificates are good.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    extra: Vec<CertificateDer<'static>>,
    /// Made when it is first needed: reading the system's authorities takes milliseconds.
    made: OnceLock<Arc<ClientConfig>>,
}

impl Trust {
    /// The system's authorities, and `extra` ones.
    pub(crate) fn with(extra: Vec<CertificateDer<'static>>) -> Self {
        Self { extra, made: OnceLock::new() }
    }

    /// TLS 1.2 or 1.3 to `host`, whose certificate must name it.
    ///
    /// # Errors
    /// A certificate that does not, or of somebody whom nobody trusts; a peer that speaks something else.
    pub(crate) async fn connect(&self, host: &Host, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = match host {
            Host::Name(name) => ServerName::try_from(name.to_string()).map_err(io::Error::other)?,
            Host::Address(address) => ServerName::from(*address),
        };
        TlsConnector::from(self.config()?).connect(name, stream).await
    }

    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let made = Arc::new(self.make()?);
        Ok(self.made.get_or_init(|| made).clone())
    }

    fn make(&self) -> io::Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors {
            tracing::warn!(%error, "an authority of the system's cannot be read");
        }
        // The system's store may hold some that no TLS library takes.
        roots.add_parsable_certificates(found.certs);
        for certificate in self.extra.iter().cloned() {
            roots.add(certificate).map_err(io::Error::other)?;
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}
