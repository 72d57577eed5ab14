// SPDX-License-Identifier: Apache-2.0
/** What a {@code .tflite} file says for people: normalization, and label files in its archive. */
package io.thalamus.tflite.metadata;
