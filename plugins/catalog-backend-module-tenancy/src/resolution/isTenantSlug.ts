/** Whether this can be the slug of a tenant (specification B.1). */
export function isTenantSlug(text: string): boolean {
  return /^[a-z0-9-]+$/.test(text);
}
