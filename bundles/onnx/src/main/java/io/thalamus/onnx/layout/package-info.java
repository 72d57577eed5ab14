// SPDX-License-Identifier: Apache-2.0
/**
 * Passes over a finished graph of NNAPI's operations, whatever file it came from: transposes are
 * pushed through and cancelled, activations fused, and what nothing needs is left out.
 */
package io.thalamus.onnx.layout;
