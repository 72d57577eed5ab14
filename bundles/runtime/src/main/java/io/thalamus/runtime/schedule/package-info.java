// SPDX-License-Identifier: Apache-2.0
/** The order in which executions use a device. */
package io.thalamus.runtime.schedule;
