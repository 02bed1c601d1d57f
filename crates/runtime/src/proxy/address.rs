//! Which addresses are public: everything that is set aside for something else is not.
//!
//! For IPv6 the rule is turned around, because most of that space is not given out: only global unicast is public,
//! and what carries an IPv4 address is judged by that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address in its only form: an IPv4 address written as IPv6 becomes the IPv4 address, so that it is checked,
/// asked about and connected to as what it is.
pub(super) fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => match six.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] => IpAddr::V4(four(high, low)),
            // `::1.2.3.4`, an old form; `::` and `::1` are addresses of their own.
            [0, 0, 0, 0, 0, 0, high, low] if high != 0 => IpAddr::V4(four(high, low)),
            _ => address,
        },
        IpAddr::V4(_) => address,
    }
}

/// True when the address belongs to the open internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(four) => is_public_four(four),
        IpAddr::V6(six) => is_public_six(six),
    }
}

fn is_public_four(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127, _, _) // this network, private, loopback
            | (100, 64..=127, _) // between a provider and its customers
            | (169, 254, _) // link-local, with the metadata of cloud machines
            | (172, 16..=31, _)
            | (192, 168, _) // private
            | (192, 0, 0 | 2) // protocols, documentation
            | (192, 88, 99) // relays of 6to4
            | (198, 18..=19, _) // measurements
            | (198, 51, 100)
            | (203, 0, 113) // documentation
            | (224..=255, _, _) // multicast, reserved, broadcast
    )
}

fn is_public_six(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64: the network translates it to the IPv4 address inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_four(four(high, low)),
        // 6to4: packets go to the IPv4 address inside.
        [0x2002, high, low, ..] => is_public_four(four(high, low)),
        // Protocols: Teredo, which hides IPv4 addresses, measurements, identifiers that are no addresses.
        [0x2001, 0..=0x01ff, ..] => false,
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false, // documentation
        // ISATAP: tunnels to the IPv4 address inside.
        [first, _, _, _, 0 | 0x0200, 0x5efe, high, low] => {
            is_global(first) && is_public_four(four(high, low))
        }
        [first, ..] => is_global(first),
    }
}

/// Global unicast, the only part of the space that is given out. Loopback, unique local, link-local, site-local and
/// multicast addresses lie outside.
fn is_global(first: u16) -> bool {
    first & 0xe000 == 0x2000
}

fn four(high: u16, low: u16) -> Ipv4Addr {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], expected: bool) {
        for address in addresses {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        check(
            &[
                "1.1.1.1",
                "8.8.8.8",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "172.15.0.1",
                "172.32.0.1",
                "192.0.1.1",
                "192.167.0.1",
                "198.17.0.1",
                "198.20.0.1",
                "223.255.255.255",
                "2606:4700::1111",
                "2001:4860:4860::8888",
                "2a00:1450::1",
                "::ffff:8.8.8.8",
                "::8.8.8.8",
                "64:ff9b::808:808",
                "2002:808:808::1",
            ],
            true,
        );
    }

    #[test]
    fn addresses_set_aside_are_not_public() {
        check(
            &[
                "0.0.0.0",
                "0.1.2.3",
                "10.0.0.1",
                "100.64.0.1",
                "100.127.255.255",
                "127.0.0.1",
                "127.255.255.254",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.1",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.1.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.1",
                "203.0.113.1",
                "224.0.0.1",
                "239.1.1.1",
                "240.0.0.1",
                "255.255.255.255",
            ],
            false,
        );
    }

    #[test]
    fn ipv6_outside_global_unicast_is_not_public() {
        check(
            &[
                "::",
                "::1",
                "fe80::1",
                "fec0::1",
                "fc00::1",
                "fd12:3456::1",
                "ff02::1",
                "100::1",
                "2001:db8::1",
                "3fff::1",
                "2001::1",
                "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                "2001:2::1",
                "2001:10::1",
                "5f00::1",
                "64:ff9b:1::808:808",
                "4000::1",
                "e000::1",
            ],
            false,
        );
    }

    #[test]
    fn a_private_address_inside_an_ipv6_address_is_not_public() {
        check(
            &[
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "::ffff:169.254.169.254",
                "::10.0.0.1",
                "::127.0.0.1",
                "64:ff9b::a9fe:a9fe",
                "64:ff9b::7f00:1",
                "2002:7f00:1::1",
                "2002:a9fe:a9fe::",
                "2002:c0a8:101::1",
                "2606:4700::5efe:10.0.0.1",
                "2606:4700::200:5efe:10.0.0.1",
                "::ffff:0:10.0.0.1",
            ],
            false,
        );
    }
}
