//! Lines about the network.

use super::{Finding, Findings, evidence};
use crate::classify::Because;
use crate::classify::sandbox::Ruling;
use crate::denial::{Certainty, Denial, Sighting, Target};
use crate::{Effect, Layer};

impl Findings<'_> {
    pub(super) fn host(&self, sighting: &Sighting, host: Option<&String>) -> Finding {
        let Some(sandbox) = &self.incident.sandbox else { return Finding::Denied(self.vague(sighting)) };
        let ruling = match sighting.effect {
            Effect::NetTcp | Effect::NetUdp | Effect::NetHost => sandbox.network(sighting.attempt),
            effect => sandbox.act(effect, sighting.attempt),
        };
        let Ruling::Blocked(block) = ruling else { return Finding::Not(Because::OwnWords) };
        let layer = sighting.layers.iter().find(|layer| block.layers.contains(layer)).copied();
        // Inside a network namespace nobody listens; on this host perhaps nobody does either.
        let own = layer == Some(Layer::Namespace) && host.is_some_and(|host| is_loopback(host));
        let refused = matches!(sighting.errno, None | Some("ECONNREFUSED"));
        let clear = layer.is_some() && !(refused && (own || host.is_none()));
        Finding::Denied(Denial {
            effect: block.effect,
            target: host.cloned().map(Target::Connect),
            layer: layer.or_else(|| block.layers.first().copied()),
            certainty: if clear { Certainty::Likely } else { Certainty::Possible },
            evidence: evidence(sighting),
            // A single host takes a proxy. Until there is one, no grant is as small as what was denied.
            grant: None,
        })
    }
}

fn is_loopback(host: &str) -> bool {
    ["127.", "localhost", "[::1]", "::1"].iter().any(|name| host.starts_with(name))
}
