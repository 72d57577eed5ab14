// SPDX-License-Identifier: Apache-2.0
/** The time to a first result, beside other runtimes. */
package io.thalamus.benchmarks.first;
