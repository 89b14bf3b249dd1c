import type {
  BackendFeature,
  LoggerService,
  RootConfigService,
} from '@backstage/backend-plugin-api';
import { type Config, ConfigReader } from '@backstage/config';
import type { JsonObject } from '@backstage/types';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { resolve } from 'path';
import { fileTargetsModule } from './fileTargets';
import { AllowedHosts } from './hosts';
import { INHERITED, pick } from './inherited';
import { checkIntervals } from './intervals';
import { obeyReach, Reach, type WithinReach } from '../reach/Reach';
import { boundedReaders } from '../sources/boundedReader';
import type { SourceBounds } from '../sources/bounds';
import {
  loadPackageSchemas,
  ModuleSchemas,
  type PackageSchema,
} from './moduleSchemas';
import {
  type EngineSources,
  type OperatorConfig,
  readOperatorConfig,
} from './operatorConfig';
import { checkOwnCredentials, ownCredentialsReaders } from './ownCredentials';
import { type ResolvedConfig, resolveReferences } from './references';
import { checkPatterns } from './patterns';
import { checkTenantKeys, fillIn, mergeConfigs } from './pluginConfig';
import { parseTenantConfig } from './tenantConfig';
import { areApart, type KnownPlugin } from '../plugins/known/KnownPlugin';

/** Two sample tenants, to check at the start that the places of any two tenants are separate. */
const EXAMPLES: ActiveTenant[] = [
  { tenantId: '00000000-0000-4000-8000-00000000000a', tenantSlug: 'example-a' },
  { tenantId: '00000000-0000-4000-8000-00000000000b', tenantSlug: 'example-b' },
];

/**
 * What the engine of each tenant is configured with: by the operator in app-config, or,
 * for other tenants, by their administrators in the registry.
 *
 * App-config is read once, at the start, as all of `tenancy` is.
 */
export class EngineConfigs {
  readonly #backend: JsonObject;
  /** What app-config says of all engines. */
  readonly operator: OperatorConfig;
  readonly #hosts: AllowedHosts;
  readonly #hostsOfModules: AllowedHosts;
  readonly #env: NodeJS.ProcessEnv;
  readonly #secrets = new WeakMap<Config, readonly string[]>();
  readonly #loadSchemas: () => Promise<PackageSchema[]>;
  #schemas?: Promise<ModuleSchemas>;

  private constructor(
    backend: JsonObject,
    operator: OperatorConfig,
    hosts: AllowedHosts,
    env: NodeJS.ProcessEnv,
    loadSchemas: () => Promise<PackageSchema[]>,
  ) {
    this.#backend = backend;
    this.operator = operator;
    this.#hosts = hosts;
    this.#hostsOfModules = AllowedHosts.fromConfig(
      new ConfigReader({ backend: { reading: { allow: operator.allow } } }),
    );
    this.#env = env;
    this.#loadSchemas = loadSchemas;
  }

  /** @throws Error that names the key that is wrong */
  static create(options: {
    config: RootConfigService;
    env?: NodeJS.ProcessEnv;
    /** Of all packages of this backend, by default. */
    loadSchemas?: () => Promise<PackageSchema[]>;
  }): EngineConfigs {
    const {
      config,
      env = process.env,
      loadSchemas = () => loadPackageSchemas(),
    } = options;
    return new EngineConfigs(
      config.getOptional<JsonObject>() ?? {},
      readOperatorConfig(config),
      AllowedHosts.fromConfig(config),
      env,
      loadSchemas,
    );
  }

  /**
   * The app-config of all engines and of single ones, without the addresses of this process,
   * which no entity depends on.
   */
  get common(): JsonObject {
    const { app: _, backend, ...others } = this.#compose({}, []);
    return {
      ...others,
      backend: pick((backend ?? {}) as JsonObject, ['reading']),
      tenancy: pick(this.#backend, ['tenancy.engines', 'tenancy.tenants']),
    };
  }

  /** Whether app-config has the sources of this tenant's engine. */
  isConfiguredByOperator(tenantSlug: string): boolean {
    return this.operator.sources.has(tenantSlug);
  }

  /**
   * Checks a configuration that an administrator of the tenant wants to save.
   *
   * @throws InputError that names the property and the expected form
   */
  async validate(tenant: ActiveTenant, config: JsonObject): Promise<void> {
    const resolved = await this.#resolve(tenant, config);
    // Loaded at the first call; a failure is not cached.
    this.#schemas ??= this.#loadSchemas().then(ModuleSchemas.create);
    const schemas = await this.#schemas.catch(error => {
      this.#schemas = undefined;
      throw error;
    });
    schemas.validate(resolved);
  }

  /**
   * The configuration of a tenant's engine: what it may have of the backend's, and the
   * tenant's sources.
   *
   * @param stored - what the registry has for the tenant; app-config comes first
   * @throws Error that names what is wrong or missing, and no secret
   */
  async configOf(
    tenant: ActiveTenant,
    stored: JsonObject | undefined,
  ): Promise<Config> {
    return this.#configOf(tenant, stored, sources => this.#engine(sources));
  }

  /**
   * The configuration of an instance of another plugin, without the sources of the catalog. It has
   * nothing of the tenant's own while that can't be used, such as for a missing secret.
   *
   * @returns the configuration, and why the tenant's own is left out
   */
  async configOfInstance(
    tenant: ActiveTenant,
    stored: JsonObject | undefined,
    plugin: KnownPlugin,
  ): Promise<{ config: Config; fault?: string }> {
    const configWith = (own?: JsonObject) =>
      this.#configOf(tenant, own, (sources, plugins) =>
        this.#instance(plugin, tenant, sources, plugins),
      );
    try {
      return { config: await configWith(stored) };
    } catch (error) {
      return { config: await configWith(), fault: (error as Error).message };
    }
  }

  /**
   * Checks that the plugin can be configured for tenants. Any two instances must keep their
   * data outside of the database in separate places, whatever tenants configure themselves.
   *
   * @throws Error that names the key to set
   */
  checkInstances(plugin: KnownPlugin): void {
    const { id, operatorKey, storageOf } = plugin;
    const examples = EXAMPLES.map(tenant =>
      this.#instance(plugin, tenant, {}).get<JsonObject>(),
    );
    const [one, other] = storageOf ? examples.map(storageOf) : [];
    if (one && !areApart(one, other)) {
      throw new Error(
        `The instances of the plugin '${id}' would share ${one.join(
          '/',
        )}. Put \${tenant.id} into it, below tenancy.plugins.config.${id}`,
      );
    }
    const closed = this.operator.plugins.tenantKeys.find(
      key =>
        operatorKey !== undefined &&
        (`${key}.`.startsWith(`${operatorKey}.`) ||
          `${operatorKey}.`.startsWith(`${key}.`)),
    );
    if (closed !== undefined) {
      throw new Error(
        `Invalid tenancy.plugins.tenantKeys: a tenant that configures ${closed} could reach what is not its own. Remove it`,
      );
    }
  }

  /**
   * The secrets that references brought into a configuration. The backend's logger already
   * redacts those of app-config.
   *
   * @param config - from {@link EngineConfigs.configOf}
   */
  secretsOf(config: Config): readonly string[] {
    return this.#secrets.get(config) ?? [];
  }

  /** The features that the backend of the tenant's engine needs beside its configuration. */
  features(tenant: ActiveTenant): BackendFeature[] {
    return [
      this.fileTargets(tenant),
      ...this.readers(tenant, this.operator.bounds),
    ];
  }

  /** The features of an instance of another plugin, whose files may be as large as archives. */
  featuresOfInstance(
    tenant: ActiveTenant,
    plugin: KnownPlugin,
    logger: LoggerService,
  ): BackendFeature[] {
    const maxBytes = this.operator.bounds.maxArchiveBytes;
    return [
      ...this.readers(tenant, { ...this.operator.bounds, maxBytes }),
      ...(plugin.features?.({ isListed: this.isListed, logger }) ?? []),
    ];
  }

  /**
   * The hosts to which the background work of a tenant's engine may connect: its entity
   * providers, and everything else that its modules start. Hosts that app-config names for the
   * tenant count as listed by the operator.
   *
   * @param own - hosts of this backend
   */
  reach(
    { tenantSlug }: ActiveTenant,
    own: ReadonlySet<string>,
  ): WithinReach | undefined {
    if (this.operator.sources.has(tenantSlug)) {
      return undefined;
    }
    obeyReach();
    const isListed = (url: URL) => own.has(url.host) || this.isListed(url);
    return work => new Reach({ isListed }).run(work);
  }

  /** Whether the operator has listed the host of a URL for anything but sources. */
  readonly isListed = (url: URL): boolean =>
    this.#hosts.isListed(url) || this.#hostsOfModules.isListed(url);

  private readers(tenant: ActiveTenant, bounds: SourceBounds) {
    // The operator wrote app-config, so its hosts count as listed.
    const operated = this.operator.sources.get(tenant.tenantSlug);
    const own = operated && AllowedHosts.fromConfig(this.#engine(operated));
    return [
      ownCredentialsReaders(),
      boundedReaders({
        bounds,
        isListed: url =>
          this.#hosts.isListed(url) || own?.isListed(url) === true,
      }),
    ];
  }

  /** Refuses an engine all files of the server except those that app-config names for it. */
  fileTargets(tenant: ActiveTenant): BackendFeature {
    const { locations = [] } =
      this.operator.sources.get(tenant.tenantSlug)?.catalog ?? {};
    const targets = locations.flatMap(({ type, target }) =>
      // As the catalog resolves the targets of its own configuration.
      type === 'file' && typeof target === 'string' ? [resolve(target)] : [],
    );
    return fileTargetsModule(new Set(targets));
  }

  async #configOf(
    tenant: ActiveTenant,
    stored: JsonObject | undefined,
    compose: (sources: EngineSources, own?: JsonObject) => Config,
  ): Promise<Config> {
    const operated = this.operator.sources.get(tenant.tenantSlug);
    if (operated) {
      return compose(operated);
    }
    // Checked again: the operator may have removed a host or a secret since it was saved.
    const resolved = stored && (await this.#resolve(tenant, stored));
    const { plugins, ...sources } = resolved?.data ?? {};
    const config = compose(
      sources as EngineSources,
      plugins as JsonObject | undefined,
    );
    this.#secrets.set(config, resolved?.secrets ?? []);
    return config;
  }

  /**
   * Replaces references in what a tenant has configured by the secrets that belong to it.
   *
   * @throws InputError that names the reference, and no secret
   */
  withSecrets(
    { tenantSlug }: ActiveTenant,
    config: JsonObject,
  ): Promise<ResolvedConfig> {
    const { variables, secretsDirectory } = this.operator;
    return resolveReferences(config, {
      tenantSlug,
      variables: variables.get(tenantSlug) ?? [],
      secretsDirectory,
      env: this.#env,
    });
  }

  async #resolve(
    tenant: ActiveTenant,
    config: JsonObject,
  ): Promise<ResolvedConfig> {
    const resolved = await this.withSecrets(tenant, parseTenantConfig(config));
    checkTenantKeys(
      (resolved.data.plugins ?? {}) as JsonObject,
      this.operator.plugins.tenantKeys,
    );
    this.#hosts.check(resolved);
    checkPatterns(resolved.data);
    checkIntervals(resolved.data, this.operator.minIntervalMs);
    checkOwnCredentials(resolved.data);
    return resolved;
  }

  #engine(sources: EngineSources): Config {
    return new ConfigReader(this.#compose(sources, []), 'tenant-engine');
  }

  /**
   * @param own - what the tenant has configured, by the ids of plugins
   * @throws Error if the instance could reach data of the backend's own plugin
   */
  #instance(
    { adapt, id, inherits = [], storageOf }: KnownPlugin,
    tenant: ActiveTenant,
    { integrations }: EngineSources,
    own: JsonObject = {},
  ): Config {
    const backend = this.#compose({ integrations }, inherits);
    const operated = this.operator.plugins.config[id];
    let data = mergeConfigs(
      backend,
      operated ? { [id]: fillIn(operated, tenant) } : {},
      id in own ? { [id]: own[id] } : {},
    );
    data = adapt?.(data, backend, tenant, this.#listedHosts()) ?? data;
    if (storageOf && !areApart(storageOf(data), storageOf(backend))) {
      throw new Error(
        `The instance of the plugin '${id}' would share ${storageOf(
          backend,
        ).join(
          '/',
        )} with the default tenant. Set another place at tenancy.plugins.config.${id}`,
      );
    }
    return new ConfigReader(data, 'tenant-instance');
  }

  #listedHosts(): string[] {
    const { reading } = (this.#backend.backend ?? {}) as {
      reading?: { allow?: { host: string }[] };
    };
    return [...(reading?.allow ?? []), ...this.operator.allow].map(
      ({ host }) => host,
    );
  }

  #compose(
    { catalog = {}, integrations }: EngineSources,
    inherits: readonly string[],
  ): JsonObject {
    const backend = pick(this.#backend, [
      ...INHERITED,
      ...this.operator.inherit,
      ...inherits,
    ]);
    return structuredClone({
      ...backend,
      // An engine has its own event bus: the backend's carries the events of all tenants.
      events: { useEventBus: 'never' },
      catalog: {
        ...(backend.catalog as JsonObject | undefined),
        processingInterval: this.operator.processingInterval,
        ...catalog,
      },
      ...(integrations && { integrations }),
    }) as JsonObject;
  }
}
