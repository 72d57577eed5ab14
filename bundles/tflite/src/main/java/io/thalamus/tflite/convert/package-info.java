// SPDX-License-Identifier: Apache-2.0
/** How TensorFlow Lite's operators become NNAPI's operations. */
package io.thalamus.tflite.convert;
