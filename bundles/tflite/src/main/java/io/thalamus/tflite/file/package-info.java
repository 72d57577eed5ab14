// SPDX-License-Identifier: Apache-2.0
/** What stands in a {@code .tflite} file, read once and checked; knows nothing of NNAPI. */
package io.thalamus.tflite.file;
