// SPDX-License-Identifier: Apache-2.0
/** The conversion of TensorFlow Lite's operators to NNAPI's operations. */
package io.thalamus.tflite.convert;
