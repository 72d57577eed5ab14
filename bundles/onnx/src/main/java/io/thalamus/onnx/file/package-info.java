// SPDX-License-Identifier: Apache-2.0
/** The messages of an ONNX file, checked while they are read. */
package io.thalamus.onnx.file;
