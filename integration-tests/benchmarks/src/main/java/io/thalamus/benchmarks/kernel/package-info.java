// SPDX-License-Identifier: Apache-2.0
/** One operation at a time on one device, measured by JMH. */
package io.thalamus.benchmarks.kernel;
