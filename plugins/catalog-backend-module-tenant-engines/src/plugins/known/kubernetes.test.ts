import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import kubernetesPlugin from '@backstage/plugin-kubernetes-backend';
import request from 'supertest';
import { kubernetes } from './kubernetes';

const LISTED = 'clusters.example.com';

/** The clusters of an instance, of those that its configuration names. */
async function namesOf(clusters: { name: string; [key: string]: string }[]) {
  const { server } = await startTestBackend({
    features: [
      kubernetesPlugin,
      ...kubernetes.features!({
        isListed: ({ hostname }) => hostname === LISTED,
        logger: mockServices.logger.mock(),
      }),
      mockServices.rootConfig.factory({
        data: {
          backend: { baseUrl: 'http://localhost', listen: '0' },
          kubernetes: {
            serviceLocatorMethod: { type: 'multiTenant' },
            clusterLocatorMethods: [{ type: 'config', clusters }],
          },
        },
      }),
    ],
  });
  const { body } = await request(server)
    .get('/api/kubernetes/clusters')
    .expect(200);
  return body.items.map(({ name }: { name: string }) => name);
}

describe('the clusters of an instance', () => {
  it('are those that are reached at listed hosts, without an identity of the portal', async () => {
    const url = `https://${LISTED}`;
    await expect(
      namesOf([
        { name: 'of users', url, authProvider: 'localKubectlProxy' },
        {
          name: 'with a token',
          url,
          authProvider: 'serviceAccount',
          serviceAccountToken: 'x',
        },
        {
          name: 'inside',
          url: 'https://127.0.0.1:1',
          authProvider: 'localKubectlProxy',
        },
        { name: 'of a cloud', url, authProvider: 'aws' },
        { name: 'of the server', url, authProvider: 'serviceAccount' },
        {
          name: 'with a file',
          url,
          authProvider: 'localKubectlProxy',
          caFile: '/etc/ca',
        },
      ]),
    ).resolves.toEqual(['of users', 'with a token']);
  });
});
