import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { BlockList, isIP, isIPv4 } from 'node:net';
import { UnlistedHostError } from './UnlistedHostError';

/**
 * Addresses that are not on the internet: this machine, private networks, and those from which
 * clouds give out credentials. From IANA's registries of special addresses.
 */
const INTERNAL = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Multicast, reserved, and broadcast.
  ['224.0.0.0', 3],
] as const) {
  INTERNAL.addSubnet(network, prefix, 'ipv4');
}

/** The addresses of IPv6 that are routed on the internet, and no others. */
const GLOBAL_V6 = new BlockList();
GLOBAL_V6.addSubnet('2000::', 3, 'ipv6');

/** Of these, those that stand for an address of IPv4 or for nothing. */
const WITHIN_GLOBAL_V6 = new BlockList();
for (const [network, prefix] of [
  // Teredo, benchmarks, documentation, 6to4.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  WITHIN_GLOBAL_V6.addSubnet(network, prefix, 'ipv6');
}

/** Whether an address is one on the internet. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) {
    return !INTERNAL.check(address, 'ipv4');
  }
  return (
    isIP(address) === 6 &&
    GLOBAL_V6.check(address, 'ipv6') &&
    !WITHIN_GLOBAL_V6.check(address, 'ipv6')
  );
}

type Answer = (
  error: Error | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/**
 * Like `dns.lookup`, for a connection: it connects to the address that this returns, so a
 * second look-up can't lead elsewhere. A name with any address that is not public has none.
 */
export function lookupPublic(
  hostname: string,
  options: LookupOptions,
  answer: Answer,
): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const internal = addresses?.find(({ address }) => !isPublic(address));
    if (error || internal) {
      answer(error ?? new UnlistedHostError(hostname, internal?.address), []);
    } else if (options.all) {
      answer(null, addresses);
    } else {
      answer(null, addresses[0].address, addresses[0].family);
    }
  });
}
