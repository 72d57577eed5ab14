// SPDX-License-Identifier: Apache-2.0
/** The TensorFlow Lite model reader. */
package io.thalamus.tflite;
