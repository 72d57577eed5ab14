// SPDX-License-Identifier: Apache-2.0
/** Round trips through the fast message queues beside those of others. */
package io.thalamus.benchmarks.queue;
