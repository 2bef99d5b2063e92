import { type Duration, RemovalPolicy, type Size, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import {
  Architecture,
  CfnFunction,
  type ILayerVersion,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { ALLOCATOR_SETTINGS } from '../../src/allocator.ts';
import type { FunctionName } from '../packaging/function-bundle.ts';
import type { Packages } from '../packaging/packages.ts';
import type { StackSettings } from '../settings.ts';
import { acknowledge } from './acknowledge.ts';

/** What all functions of a stack share. */
export interface FunctionContext {
  readonly settings: StackSettings;
  readonly packages: Packages;
}

export interface UpkeepFunctionProps extends FunctionContext {
  /** Which entry point of `lambdas/`. */
  readonly entry: FunctionName;
  readonly description: string;
  readonly timeout: Duration;
  /** In MB. */
  readonly memoryMb: number;
  /** Size of /tmp. @default - 512 MB */
  readonly scratch?: Size;
  /** The layer with LanceDB. @default - none: the function loads no native library */
  readonly nativeLayer?: ILayerVersion;
  /** Runs at once at most, and kept free for it. @default - what the account has left */
  readonly reservedConcurrency?: number;
}

/** What DynamoDB and SQS ask of whoever uses an encrypted table or queue. */
const KEY_ACTIONS = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'];

/** One function with its own role and log group; the role may do nothing yet but write logs. */
export class UpkeepFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;
  readonly memoryMb: number;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: UpkeepFunctionProps) {
    super(scope, id);
    const { settings } = props;
    this.memoryMb = props.memoryMb;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays as RetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', {
      assumedBy: serviceOfThisAccount(this, 'lambda'),
      description: `${props.description} (lance-upkeep)`,
    });
    this.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'Logs',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [this.logGroup.logGroupArn],
      }),
    );
    if (settings.kmsKeyArn !== undefined) {
      this.role.addToPrincipalPolicy(
        new PolicyStatement({ sid: 'Key', actions: KEY_ACTIONS, resources: [settings.kmsKeyArn] }),
      );
    }
    this.function = new LambdaFunction(this, 'Function', {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: settings.architecture === 'arm64' ? Architecture.ARM_64 : Architecture.X86_64,
      handler: 'index.handler',
      code: props.packages.functionCode(props.entry),
      role: this.role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.TEXT,
      timeout: props.timeout,
      memorySize: props.memoryMb,
      environment: { ...settings.variables, ...(props.nativeLayer ? ALLOCATOR_SETTINGS : {}) },
      layers: props.nativeLayer ? [props.nativeLayer] : [],
      ...(props.scratch ? { ephemeralStorageSize: props.scratch } : {}),
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
    });
    if (settings.subnetIds.length > 0) this.#joinVpc(settings);
  }

  /** Ids instead of a looked-up network: synth needs no account. */
  #joinVpc({ subnetIds, securityGroupIds }: StackSettings): void {
    const resource = this.function.node.defaultChild;
    if (!(resource instanceof CfnFunction)) throw new Error('A function has no resource of its own.');
    resource.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };
    const actions = [
      'CreateNetworkInterface',
      'DescribeNetworkInterfaces',
      'DescribeSubnets',
      'DeleteNetworkInterface',
    ];
    const statement = new PolicyStatement({
      sid: 'Network',
      actions: [...actions, 'AssignPrivateIpAddresses', 'UnassignPrivateIpAddresses'].map((action) => `ec2:${action}`),
      resources: ['*'],
    });
    this.role.addToPrincipalPolicy(statement);
    const reason =
      'Lambda makes network interfaces with names of its own; EC2 limits none of these actions to a resource.';
    acknowledge(this.role, 'AwsSolutions-IAM5[Resource::*]', reason);
    // Without its rights in place, a function in a VPC is not created.
    resource.node.addDependency(this.role);
  }
}

/** A service as it acts for this account, and for no other that might name our roles to it. */
export function serviceOfThisAccount(scope: Construct, service: 'lambda' | 'scheduler'): ServicePrincipal {
  const conditions = { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } };
  return new ServicePrincipal(`${service}.amazonaws.com`, { conditions });
}

/** The operator's key as a construct's property; empty without one. */
export function keyOf(scope: Construct, { kmsKeyArn }: StackSettings): { encryptionKey?: IKey } {
  if (kmsKeyArn === undefined) return {};
  const known = scope.node.tryFindChild('Key') as IKey | undefined;
  return { encryptionKey: known ?? Key.fromKeyArn(scope, 'Key', kmsKeyArn) };
}
