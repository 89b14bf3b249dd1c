import type { AppConfig } from '@backstage/config';
import { requireOfPortal } from './portalPackages';

type JsonObject = AppConfig['data'];

/** TechDocs brings it along. */
const PACKAGE = '@aws-sdk/client-s3';

/** As far as it is used. */
interface S3 {
  S3Client: new (options: object) => {
    send(command: object): Promise<{
      Contents?: { Key?: string }[];
      Errors?: { Key?: string; Message?: string }[];
    }>;
    destroy(): void;
  };
  ListObjectsV2Command: new (input: object) => object;
  DeleteObjectsCommand: new (input: object) => object;
}

/** The bucket is another account's, or the credentials are a role's. */
const OTHER_CREDENTIALS = ['accountId', 'roleArn'];

/**
 * Deletes the objects below a prefix, with the credentials of the publisher or those of the
 * environment.
 *
 * @returns how many there were
 * @throws an error where it can't
 */
export async function emptyBucket({
  bucket,
  prefix,
  settings,
}: {
  bucket: string;
  prefix: string;
  settings: JsonObject;
}): Promise<number> {
  const credentials = settings.credentials as JsonObject | undefined;
  if (OTHER_CREDENTIALS.some(key => settings[key] ?? credentials?.[key])) {
    throw new Error('its credentials are of an account or a role');
  }
  const s3 = requireOfPortal<S3>(PACKAGE);
  if (!s3) {
    throw new Error(`${PACKAGE} is not installed here`);
  }
  const client = new s3.S3Client({
    credentials,
    endpoint: settings.endpoint,
    forcePathStyle: settings.s3ForcePathStyle,
    region: settings.region,
  });
  try {
    for (let deleted = 0; ; ) {
      const { Contents = [] } = await client.send(
        new s3.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }),
      );
      if (Contents.length === 0) {
        return deleted;
      }
      const { Errors = [] } = await client.send(
        new s3.DeleteObjectsCommand({
          Bucket: bucket,
          Delete: { Objects: Contents.map(({ Key }) => ({ Key })) },
        }),
      );
      if (Errors.length > 0) {
        throw new Error(`${Errors[0].Key}: ${Errors[0].Message}`);
      }
      deleted += Contents.length;
    }
  } finally {
    client.destroy();
  }
}
