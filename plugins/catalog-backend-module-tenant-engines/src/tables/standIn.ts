// Until backstage-catalog-tenancy-migrations exports both.

export function attachEngine(_: {
  schema: string;
  tenantId: string;
  catalogSchema: string;
}): string[] {
  return [];
}
export function engineSchemaOf(tenantId: string): string {
  return `tenant_${tenantId.replaceAll('-', '')}`;
}
