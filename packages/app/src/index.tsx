import '@backstage/cli/asset-types';
import '@backstage/ui/css/styles.css';
import './contrast.css';
import ReactDOM from 'react-dom/client';
import { createPortalApp } from './App';

ReactDOM.createRoot(document.getElementById('root')!).render(
  createPortalApp().createRoot(),
);
