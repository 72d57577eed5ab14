// SPDX-License-Identifier: Apache-2.0
/**
 * The service {@code inference.GRPCInferenceService}. gRPC is inside this bundle, Netty is not.
 *
 * <pre>
 *   gRPC --> ServiceCalls -- rights --> UnaryCall, InferCall, StreamCall
 *              InferReader --> InferenceServer --> InferWriter
 * </pre>
 */
package io.thalamus.grpc.server;
