// SPDX-License-Identifier: Apache-2.0
/** The contents of a {@code .tflite} file, read once and checked, without NNAPI. */
package io.thalamus.tflite.file;
