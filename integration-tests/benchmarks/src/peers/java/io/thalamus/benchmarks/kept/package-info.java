// SPDX-License-Identifier: Apache-2.0
/** What is kept between executions and between processes, beside ONNX Runtime: states, programs. */
package io.thalamus.benchmarks.kept;
