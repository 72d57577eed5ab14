// SPDX-License-Identifier: Apache-2.0
/**
 * gRPC's reflection: generic clients ask a server for the definitions of its calls. They are text
 * beside these classes, and become descriptors when somebody asks first.
 */
package io.thalamus.grpc.reflection;
