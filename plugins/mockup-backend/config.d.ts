export interface Config {
  mockup?: {
    import?: {
      /** How many bytes a file to import may have; 104857600 (100 MiB) by default. */
      maxBytes?: number;
    };
  };
}
