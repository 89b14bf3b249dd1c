export { EngineConfigs } from './EngineConfigs';
