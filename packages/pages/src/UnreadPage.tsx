import { ButtonLink, Container } from '@backstage/ui';
import { Alert } from './Alert';
import { ReadFailure } from './Failure';
import { Loading } from './Loading';
import { PageHeader } from './PageHeader';

/** A page in the place of one that is loading, has failed, or is not there. */
export function UnreadPage(props: {
  title: string;
  state: { error?: Error; loading: boolean; retry: () => void };
  /** What is said where it fails. */
  failed: string;
  /** What is said where it is not there, and where to go instead. */
  missing: { title: string; description?: string; href: string; link: string };
}) {
  const { title, failed, missing } = props;
  const { error, loading } = props.state;
  return (
    <>
      <PageHeader title={title} isLoading={loading} />
      <Container>
        {loading && !error && <Loading />}
        <ReadFailure title={failed} state={props.state} />
        {!error && !loading && (
          <Alert
            role="alert"
            status="warning"
            icon
            title={missing.title}
            description={missing.description}
            customActions={
              <ButtonLink size="small" href={missing.href}>
                {missing.link}
              </ButtonLink>
            }
          />
        )}
      </Container>
    </>
  );
}
