// SPDX-License-Identifier: Apache-2.0
/** Values that are known while a model is read, and what is computed of them. */
package io.thalamus.onnx.fold;
