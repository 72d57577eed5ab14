// SPDX-License-Identifier: Apache-2.0
/** Partitioning, planning and execution over devices. */
package io.thalamus.runtime;
