// SPDX-License-Identifier: Apache-2.0
/** The metadata of a {@code .tflite} file: normalization, and label files in its archive. */
package io.thalamus.tflite.metadata;
