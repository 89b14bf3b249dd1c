function positive(name: string, byDefault: number): number {
  const text = process.env[`CATALOG_DIFFERENTIAL_${name}`];
  const value = text === undefined ? byDefault : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(
      `CATALOG_DIFFERENTIAL_${name} is '${text}', expected a whole number of 1 or more`,
    );
  }
  return value;
}

/** How much the differential tests do; a failed one prints the seed. */
export const sizes = {
  entities: positive('ENTITIES', 500),
  requests: positive('REQUESTS', 600),
  seed: positive('SEED', 20_260),
};
