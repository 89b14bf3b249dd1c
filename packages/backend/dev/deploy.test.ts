import { existsSync, readdirSync, readFileSync } from 'fs';
import { targetPaths } from '@backstage/cli-common';
import { parse, parseAllDocuments } from 'yaml';

// That the files of deploy/ fit each other and the repository. An image is not built here.

const read = (path: string) =>
  readFileSync(targetPaths.resolveRoot(path), 'utf8');

const isThere = (...path: string[]) =>
  existsSync(targetPaths.resolveRoot(...path));

const VARIABLES = read('deploy/portal.env')
  .split('\n')
  .flatMap(line => /^([A-Z_]+)=/.exec(line)?.[1] ?? []);

const CONFIGS = [
  'app-config.production.yaml',
  'app-config.oidc.yaml',
  'deploy/app-config.deploy.yaml',
];

const compose = parse(read('deploy/compose.yaml'));
const manifests: any[] = readdirSync(
  targetPaths.resolveRoot('deploy/kubernetes'),
)
  .flatMap(file => parseAllDocuments(read(`deploy/kubernetes/${file}`)))
  // Throws where it is no YAML.
  .map(document => document.toJS());
const manifest = (kind: string, name: string) =>
  manifests.find(each => each.kind === kind && each.metadata.name === name);

/** The keys of a configuration that are files of secrets, and these files. */
function secretsOf(value: unknown, path = ''): [key: string, file: string][] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  const { $file } = value as { $file?: string };
  return $file
    ? [[path, $file.replace(/^.*\//, '')]]
    : Object.entries(value).flatMap(([key, below]) =>
        secretsOf(below, path ? `${path}.${key}` : key),
      );
}

const SECRETS = secretsOf(parse(read('deploy/app-config.deploy.yaml')));
const FILES = [...new Set(SECRETS.map(([, file]) => file))];

describe('the Dockerfile', () => {
  const dockerfile = read('deploy/Dockerfile').replace(/\\\n/g, ' ');

  it('copies what is in the repository, or was built', () => {
    const copied = [...dockerfile.matchAll(/^COPY (.*)$/gm)].map(([, words]) =>
      words.split(/\s+/).slice(0, -1),
    );
    expect(copied.length).toBeGreaterThan(3);
    const ofRepository = copied
      .filter(([first]) => !first.startsWith('--from='))
      .flat();
    expect(ofRepository).toContain('yarn.lock');
    expect(ofRepository.filter(path => !isThere(path))).toEqual([]);
  });

  it('runs commands of this repository, with its versions', () => {
    const { packageManager, scripts } = JSON.parse(read('package.json'));
    expect(dockerfile).toContain(
      `npx --yes ${packageManager.replace('yarn@', '@yarnpkg/cli-dist@')} `,
    );
    expect(scripts).toHaveProperty('build:all');
    for (const config of CONFIGS) {
      expect(dockerfile).toContain(
        `"--config", "${config.replace('deploy/', '')}"`,
      );
    }
  });
});

describe('the image of the operator', () => {
  const dockerfile = read('deploy/Dockerfile');

  it('begins with a command that is there without a build', () => {
    const [, stage, path] =
      /^FROM (\w+) AS operator\nENTRYPOINT \["node", "(.*)"\]/m.exec(
        dockerfile,
      )!;
    expect(stage).toBe('repository');
    expect(isThere(path)).toBe(true);
  });
});

describe('the variables', () => {
  it('are all that the configuration reads, but for secrets and defaults', () => {
    const required = CONFIGS.flatMap(config =>
      [...read(config).matchAll(/^[^#\n]*\$\{([A-Z_]+)\}/gm)].map(
        ([, name]) => name,
      ),
    );
    const ofSecrets = [
      ...['POSTGRES_PASSWORD', 'TENANCY_POSTGRES_PASSWORD', 'JWT_SECRET'],
      ...['AUTH_SESSION_SECRET', 'AUTH_OIDC_CLIENT_SECRET'],
    ];
    expect([...VARIABLES, ...ofSecrets]).toEqual(
      expect.arrayContaining(required),
    );
  });

  it('are those that nginx puts in', () => {
    const used = [...read('deploy/nginx.conf').matchAll(/\$\{([A-Z_]+)\}/g)];
    expect(used.length).toBeGreaterThan(0);
    used.forEach(([, name]) => expect(VARIABLES).toContain(name));
  });
});

describe('the secrets', () => {
  it('are in place of each secret of the other configuration', () => {
    expect(SECRETS.map(([key]) => key)).toEqual([
      'backend.auth.externalAccess.0.options.token',
      'backend.database.connection.password',
      'auth.session.secret',
      'auth.providers.oidc.production.clientSecret',
      'tenancy.jwtSecret.0',
      'tenancy.jwtSecret.1',
      'tenancy.database.connection.password',
    ]);
  });

  it('are given to the containers of compose.yaml', () => {
    expect(Object.keys(compose.secrets).sort()).toEqual([...FILES].sort());
    expect([...compose.services.backend.secrets].sort()).toEqual(
      [...FILES].sort(),
    );
  });

  it('are those that the page of deployment makes', () => {
    const page = read('docs/operators/deployment.md');
    FILES.forEach(file => expect(page).toContain(file));
  });
});

describe('compose.yaml', () => {
  it('asks for health with a command, of which YAML makes nothing else', () => {
    const { test } = compose.services.backend.healthcheck;
    expect(test).toEqual(test.map(String));
  });

  it('keeps the documents of the default tenant and of others in a volume', () => {
    const { publisher } = parse(read('app-config.production.yaml')).techdocs;
    const [, folder] = /:-(.*)}$/.exec(publisher.local.publishDirectory)!;
    for (const service of ['backend', 'operator']) {
      const kept = (compose.services[service].volumes as string[]).map(
        volume => `${volume.split(':')[1]}/`,
      );
      // The engines' module puts those of a tenant there.
      [folder, `${folder}-of-tenants`].forEach(place =>
        expect(kept.filter(path => place.startsWith(path))).toHaveLength(1),
      );
    }
  });

  it('names files that are there', () => {
    const mounted = Object.values<{ volumes?: string[] }>(compose.services)
      .flatMap(({ volumes = [] }) => volumes)
      .map(volume => volume.split(':')[0])
      .filter(path => path.startsWith('./') && !path.startsWith('./secrets'));
    expect(mounted.length).toBeGreaterThan(2);
    expect(mounted.filter(path => !isThere('deploy', path))).toEqual([]);
  });
});

describe('the manifests of Kubernetes', () => {
  it('are all in kustomization.yaml', () => {
    const { resources } = parse(read('deploy/kustomization.yaml'));
    expect(resources).toEqual(
      readdirSync(targetPaths.resolveRoot('deploy/kubernetes')).map(
        file => `kubernetes/${file}`,
      ),
    );
  });

  it.each(['backend', 'proxy'])('select the pods of %s', name => {
    const deployment = manifest('Deployment', name);
    const { labels } = deployment.spec.template.metadata;
    expect(labels).toMatchObject(deployment.spec.selector.matchLabels);
    const service = manifest('Service', name);
    expect(labels).toMatchObject(service.spec.selector);
    const ports = deployment.spec.template.spec.containers[0].ports.map(
      (port: { name: string }) => port.name,
    );
    service.spec.ports.forEach(({ targetPort }: { targetPort: string }) =>
      expect(ports).toContain(targetPort),
    );
  });

  it('export with a command, options and files that there are', () => {
    const { spec } = manifest('CronJob', 'exports').spec.jobTemplate.spec
      .template;
    const [{ args }] = spec.containers as { args: string[] }[];
    expect(args.slice(0, 2)).toEqual(['tenant', 'export']);
    const files = args.flatMap(arg => /^--config=(.*)$/.exec(arg)?.[1] ?? []);
    expect(files).toEqual(CONFIGS);
    const options =
      read('migrations/src/cli/options.ts') +
      read('migrations/src/cli/commands/tenant.ts');
    args
      .filter(arg => arg.startsWith('--'))
      .forEach(arg => expect(options).toContain(`'${arg.split('=')[0]}`));
  });

  const pods = manifests.flatMap(({ metadata, spec }) => {
    const { template } = spec?.jobTemplate?.spec ?? spec ?? {};
    return template ? [[metadata.name, template.spec] as const] : [];
  });

  it.each(pods)('give the pods of %s no more than they need', (_, pod) => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        fsGroup: expect.any(Number),
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    pod.containers.forEach((container: object) =>
      expect(container).toMatchObject({
        resources: { limits: { memory: expect.any(String) } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      }),
    );
  });

  it.each([
    ['backend', ['/tmp']],
    ['proxy', ['/etc/nginx/conf.d', '/run', '/var/cache/nginx']],
  ])('give %s a place for all that it writes, as does compose', (name, all) => {
    const { spec } = manifest('Deployment', name).spec.template;
    const written = spec.volumes
      .filter(({ emptyDir }: { emptyDir?: object }) => emptyDir)
      .map((volume: { name: string }) => volume.name);
    const mounts: { name: string; mountPath: string }[] =
      spec.containers[0].volumeMounts;
    expect(
      mounts
        .filter(mount => written.includes(mount.name))
        .map(({ mountPath }) => mountPath),
    ).toEqual(all);
    expect(compose.services[name]).toMatchObject({
      read_only: true,
      tmpfs: all,
    });
  });

  it('let the backend end what is under way', () => {
    const { spec } = manifest('Deployment', 'backend').spec.template;
    const { backend } = parse(read('deploy/app-config.deploy.yaml'));
    const delay = backend.lifecycle.serverShutdownDelay.seconds;
    // Requests have 10 seconds, and engines stop after them.
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(delay + 20);
    expect(compose.services.backend.stop_grace_period).toBe(
      `${spec.terminationGracePeriodSeconds}s`,
    );
  });
});

describe('the alerts', () => {
  const { groups } = parse(read('deploy/alerts.yaml'));
  const rules: { alert: string; labels: object; annotations: object }[] =
    groups.flatMap((group: { rules: object[] }) => group.rules);

  /** The addresses of the headings of a page, as GitHub makes them. */
  const anchorsOf = (page: string) =>
    read(page)
      .split('\n')
      .filter(line => line.startsWith('#'))
      .map(line =>
        line
          .replace(/^#+ /, '')
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
      .map(anchor => `${page}#${anchor}`);

  it.each(rules.map(rule => [rule.alert, rule] as const))(
    '%s says how urgent it is, and where to read on',
    (_, { labels, annotations }) => {
      expect(labels).toEqual({
        severity: expect.stringMatching(/^(critical|warning)$/),
      });
      const { runbook_url } = annotations as { runbook_url: string };
      expect(anchorsOf(runbook_url.split('#')[0])).toContain(runbook_url);
      expect(annotations).toHaveProperty('summary');
    },
  );
});
