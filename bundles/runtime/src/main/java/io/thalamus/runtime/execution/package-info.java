// SPDX-License-Identifier: Apache-2.0
/** Runs a prepared plan over memory pools, and repeats elsewhere what a device fails. */
package io.thalamus.runtime.execution;
