// SPDX-License-Identifier: Apache-2.0
/** The ONNX model reader. */
package io.thalamus.onnx;
