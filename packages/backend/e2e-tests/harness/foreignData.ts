/**
 * What a tenant has and no other: words of its entities, of their facets, and of what search
 * says of them. Names of people and of their groups are not among them: those are of the
 * portal, or what somebody owns in the tenant that is open.
 */
const MARKERS: Record<string, RegExp> = {
  default:
    /shop-frontend|stock-service|order-database|Takes orders|on the shelves|The web shop|Everything that sells|"(react|postgres|retail|warehouse)"|:default\/(shop|retail|warehouse|orders)\b/i,
  acme: /route-planner|Pick-up orders|doorbell|parcel|"(go|python)"|:default\/(map|tracking|delivery)\b/i,
  initech: /tps-reports|TPS reports|cover.sheet|paperwork|Fills in forms/i,
};

/** Says what a tenant has that a test has created, beside what it has already. */
export function addMarker(tenant: string, marker: RegExp): void {
  const known = MARKERS[tenant];
  MARKERS[tenant] = known
    ? new RegExp(`${known.source}|${marker.source}`, 'i')
    : marker;
}

/** The first thing in a text that belongs to another tenant than one of these. */
export function foreignData(
  text: string,
  tenants: string[],
): { tenant: string; found: string } | undefined {
  for (const [tenant, marker] of Object.entries(MARKERS)) {
    const [found] = (!tenants.includes(tenant) && marker.exec(text)) || [];
    if (found) {
      return { tenant, found };
    }
  }
  return undefined;
}
