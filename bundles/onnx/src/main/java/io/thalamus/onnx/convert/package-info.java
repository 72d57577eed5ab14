// SPDX-License-Identifier: Apache-2.0
/** ONNX's operators in NNAPI's operations, by family. */
package io.thalamus.onnx.convert;
