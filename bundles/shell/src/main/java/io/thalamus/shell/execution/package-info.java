// SPDX-License-Identifier: Apache-2.0
/** Executions of compilations, and measurements of them. */
package io.thalamus.shell.execution;
